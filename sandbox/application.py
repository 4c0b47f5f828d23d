"""The closed world's web application: which route answers what, through the faults in force."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web
from pydantic import ValidationError

from sandbox.chat import MAX_BODY_BYTES, ChatService, openai_error
from sandbox.customsearch import CustomSearch, google_error
from sandbox.faults import Draw, FaultDesk, FaultPlans, RouteName, Tally
from sandbox.hosting import asked_address, page_error, serve_page
from sandbox.site import Site

Answer = Callable[[Draw], Awaitable[web.Response]]


class ErrorBody(Protocol):
    """Makes an error response in a protocol's own words."""

    def __call__(self, status: int, message: str, *, retry_after_s: int | None = None) -> web.Response: ...


ERRORS: dict[RouteName, ErrorBody] = {"chat": openai_error, "search": google_error, "pages": page_error}


@dataclass(frozen=True)
class Service:
    """The application's parts; :meth:`application` wires them to routes."""

    site: Site
    chat: ChatService = field(default_factory=ChatService)
    desk: FaultDesk = field(default_factory=FaultDesk)
    tally: Tally = field(default_factory=Tally)

    def application(self) -> web.Application:
        """A web application over these parts."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_post("/v1/chat/completions", self._on_chat)
        app.router.add_get("/v1/models", self._on_models)
        app.router.add_get("/customsearch/v1", self._on_search)
        app.router.add_get("/healthz", self._on_health)
        app.router.add_get("/_faults", self._on_get_faults)
        app.router.add_put("/_faults", self._on_put_faults)
        app.router.add_delete("/_faults", self._on_delete_faults)
        app.router.add_get("/_stats", self._on_get_stats)
        app.router.add_delete("/_stats", self._on_delete_stats)
        app.router.add_get("/{path:.*}", self._on_page)
        return app

    async def _on_chat(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.tally.chat_body(raw, answered=False)

        async def answer(draw: Draw) -> web.Response:
            return self.chat.complete(request, raw, draw)

        response, draw = await self._afflicted("chat", answer)
        if response.status == 200 and draw.fault is None:
            self.tally.chat_body(raw, answered=True)
        return response

    async def _on_models(self, request: web.Request) -> web.Response:
        return self.chat.list_models(request)

    async def _on_search(self, request: web.Request) -> web.Response:
        async def answer(draw: Draw) -> web.Response:
            return CustomSearch(self.site, self.chat.key).search(request, draw)

        return (await self._afflicted("search", answer))[0]

    async def _on_page(self, request: web.Request) -> web.Response:
        if request.path == "/robots.txt" and asked_address(request) is None:
            return web.Response(text="User-agent: *\nDisallow: /\n")

        async def answer(draw: Draw) -> web.Response:
            return await serve_page(self.site, request, draw)

        return (await self._afflicted("pages", answer))[0]

    async def _afflicted(self, route: RouteName, answer: Answer) -> tuple[web.Response, Draw]:
        """The answer, or what the route's fault plan makes of it."""
        draw = self.desk.draw(route)
        self.tally.request(route, draw.fault)
        if draw.delay_s:
            await asyncio.sleep(draw.delay_s)
        if draw.fault == "hang":
            await asyncio.Event().wait()
        if draw.fault == "rate_limited":
            return ERRORS[route](429, "Too many requests.", retry_after_s=draw.retry_after_s), draw
        if draw.fault == "server_error":
            return ERRORS[route](500, "The server had an error."), draw
        if draw.fault == "wrong_schema":
            return web.json_response({"status": "ok", "result": {"data": []}}), draw
        response = await answer(draw)
        if draw.fault == "truncated_json" and isinstance(response.body, bytes):
            response.body = response.body[: len(response.body) // 2]
        return response, draw

    async def _on_health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "pages": len(self.site.pages), "models": list(self.chat.models)})

    async def _on_get_faults(self, _: web.Request) -> web.Response:
        return web.json_response(text=self.desk.in_force().model_dump_json(exclude_none=True))

    async def _on_put_faults(self, request: web.Request) -> web.Response:
        try:
            plans = FaultPlans.model_validate_json(await request.read())
        except ValidationError as error:
            return web.json_response(
                {"error": error.errors(include_url=False, include_context=False, include_input=False)}, status=400
            )
        self.desk.replace(plans)
        return await self._on_get_faults(request)

    async def _on_delete_faults(self, request: web.Request) -> web.Response:
        self.desk.replace(FaultPlans())
        return await self._on_get_faults(request)

    async def _on_get_stats(self, _: web.Request) -> web.Response:
        return web.json_response(self.tally.counts())

    async def _on_delete_stats(self, request: web.Request) -> web.Response:
        self.tally.clear()
        return await self._on_get_stats(request)
