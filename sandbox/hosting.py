"""Web pages over HTTP: by Host header ("who.closed.world") or by path ("/pages/who/..."), with what ails the web.

A proxy request ("GET http://who.closed.world/... HTTP/1.1") carries the Host header too, so that a crawler can
use the service as its proxy and see the public addresses.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from sandbox.faults import Draw, garbage
from sandbox.site import DOMAIN, Address, Redirect, Site

PREFIX = "/pages/"


def asked_address(request: web.Request) -> Address | None:
    """The page address that a request asks for; None where it is not for the closed world's web."""
    host = _world_host(request)
    if host is not None:
        return Address(host, request.path.lstrip("/"))
    if request.path.startswith(PREFIX):
        name, _, slug = request.path.removeprefix(PREFIX).partition("/")
        return Address(name, slug)
    return None


def _world_host(request: web.Request) -> str | None:
    host = request.headers.get("Host", "").rpartition(":")[0] or request.headers.get("Host", "")
    return host.lower().removesuffix(f".{DOMAIN}") if host.lower().endswith(f".{DOMAIN}") else None


async def serve_page(site: Site, request: web.Request, draw: Draw) -> web.Response:
    """Page, redirect, robots.txt or 404; slow hosts take their time."""
    asked = asked_address(request)
    if asked is None or asked.host not in site.hosts:
        return _not_found()
    if delay_s := site.delay_s(asked.host):
        await asyncio.sleep(delay_s)
    if asked.slug == "robots.txt":
        return web.Response(text=site.robots(asked.host))
    found = site.at(asked)
    if found is None:
        return _not_found()
    if isinstance(found, Redirect):
        return web.Response(status=301, headers={"Location": _location(request, found.target)})
    if draw.fault == "garbage_text":
        return web.Response(body=garbage(draw.token).encode("utf-16"), headers={"Content-Type": "text/html"})
    headers = {"Content-Type": found.encoding.content_type}
    if found.last_modified:
        headers["Last-Modified"] = found.last_modified
    return web.Response(body=found.body(), headers=headers)


def _location(request: web.Request, target: Address) -> str:
    """The target in the form the request was made in."""
    return target.url if _world_host(request) is not None else f"{PREFIX}{target.host}/{target.slug}"


def _not_found() -> web.Response:
    return web.Response(
        status=404, text="<html><body><h1>404</h1><p>There is no such page.</p></body></html>", content_type="text/html"
    )


def page_error(status: int, message: str, *, retry_after_s: int | None = None) -> web.Response:
    """An error as a web server words it."""
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return web.Response(status=status, text=f"{status}: {message}", headers=headers)
