"""Everything a run needs, checked before it spends anything; each failure names its fix."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

from configs.settings import EndpointSettings, Settings
from tasks.curation.sources import check_sources

ENDPOINT_TIMEOUT_S = 5.0
GB = 1e9
GPU_MEMORY_MIN_GB = 20.0
"""Smallest card the shipped GPU profiles are meant for."""


class Problem(NamedTuple):
    """Something missing and what to do about it."""

    what: str
    fix: str


class NotReady(RuntimeError):
    """The run cannot start; the message lists every problem with its fix."""

    def __init__(self, problems: list[Problem]) -> None:
        lines = [f"  {number}. {what}\n     -> {fix}" for number, (what, fix) in enumerate(problems, 1)]
        super().__init__("preflight found what would stop this run:\n" + "\n".join(lines))


def require_ready(settings: Settings) -> None:
    """Raise NotReady with every problem at once, or return.

    Raises:
        NotReady: something is missing.
    """
    found = list(problems(settings))
    if found:
        raise NotReady(found)


def problems(settings: Settings) -> Iterator[Problem]:
    """Every problem, in the order in which a run would meet them."""
    yield from _disk(settings)
    yield from _endpoint(settings.judge.endpoint, settings.endpoints[settings.judge.endpoint])
    yield from _packages(settings)
    yield from _gpus(settings)
    if settings.world is None:
        yield from (Problem(what, fix) for what, fix in check_sources(settings.data))
        yield from _policy(settings)


def _disk(settings: Settings) -> Iterator[Problem]:
    store = Path(settings.run.store).resolve()
    store.mkdir(parents=True, exist_ok=True)
    free_gb = shutil.disk_usage(store).free / GB
    if free_gb < settings.run.min_disk_gb:
        yield Problem(
            f"{store} has {free_gb:.1f} GB free, the profile asks for {settings.run.min_disk_gb:g}",
            "free some space, or set run.store to another disk",
        )


def _endpoint(name: str, endpoint: EndpointSettings) -> Iterator[Problem]:
    key = None
    if endpoint.api_key_env is not None:
        key = os.environ.get(endpoint.api_key_env)
        if not key:
            yield Problem(
                f"endpoint {name!r} needs a key and {endpoint.api_key_env} is not set",
                f"export {endpoint.api_key_env}=... before `make up`, or set endpoints.{name}.api_key_env to null",
            )
            return
    for url in endpoint.base_urls:
        yield from _address(name, url, endpoint, key)


def _address(name: str, url: str, endpoint: EndpointSettings, key: str | None) -> Iterator[Problem]:
    request = urllib.request.Request(f"{url.rstrip('/')}/models")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=ENDPOINT_TIMEOUT_S) as response:
            listed = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            yield Problem(f"{url} refuses the key ({error.code})", f"check the key in {endpoint.api_key_env}")
        elif error.code == 429 or error.code >= 500:
            return  # it is there and busy: the client waits for that
        elif error.code != 404:  # some servers have no model list
            yield Problem(f"{url}/models answers {error.code}", f"check endpoints.{name}.base_urls")
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        yield Problem(f"endpoint {name!r} at {url} does not answer: {reason}", "start it, or mend its address")
        return
    models = {str(entry.get("id")) for entry in listed.get("data", []) if isinstance(entry, dict)}
    if models and endpoint.model not in models:
        yield Problem(
            f"{url} does not serve {endpoint.model!r}",
            f"set endpoints.{name}.model to one of: {', '.join(sorted(models)[:10])}",
        )


def _packages(settings: Settings) -> Iterator[Problem]:
    launch, wanted = settings.train.launch, set()
    if settings.generation.backend == "vllm" and settings.generation.vllm.python is None:
        wanted.add("vllm")
    if settings.train.grpo.vllm and any(method.trainer == "grpo" for method in settings.methods.values()):
        wanted.add("vllm")
    if launch.deepspeed != "none":
        wanted.add("deepspeed")
    if launch.attention == "flash_attention_2":
        wanted.add("flash_attn")
    if "wandb" in settings.train.trackers:
        wanted.add("wandb")
    for package in sorted(wanted):
        if importlib.util.find_spec(package) is None:
            yield Problem(f"this profile needs the package {package}", "pip install -e '.[gpu]' (README, Installation)")
    python = settings.generation.vllm.python
    if settings.generation.backend == "vllm" and python is not None and shutil.which(python) is None:
        yield Problem(f"generation.vllm.python {python!r} is no interpreter", "give the path of one that has vLLM")


def _gpus(settings: Settings) -> Iterator[Problem]:
    wanted = 0 if settings.train.launch.cpu else settings.train.launch.processes
    if settings.generation.device == "cuda":
        wanted = max(wanted, 1)
    if wanted == 0:
        return
    memory_gb = gpu_memory_gb()
    if len(memory_gb) < wanted:
        yield Problem(
            f"profile {settings.profile!r} wants {wanted} GPU(s), this machine shows {len(memory_gb)}",
            "choose another profile (sandbox needs none), or run on a machine that has them",
        )
    small = [size for size in memory_gb if size < GPU_MEMORY_MIN_GB]
    if small:
        yield Problem(
            f"a GPU has {min(small):.0f} GB, the GPU profiles are meant for {GPU_MEMORY_MIN_GB:.0f} GB and more",
            "choose a smaller policy.model and shorter policy.max_context_tokens, or a larger card",
        )


def gpu_memory_gb() -> list[float]:
    """Memory of each NVIDIA GPU; empty where there is none."""
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    shown = subprocess.run(query, capture_output=True, text=True, check=False)
    return [float(line) / 1e3 for line in shown.stdout.split() if line.strip().isdigit()]


def _policy(settings: Settings) -> Iterator[Problem]:
    policy = settings.policy
    folder = Path(policy.model)
    try:
        template = _local_template(folder) if folder.is_dir() else _hub_template(policy.model, policy.revision)
    except (OSError, ValueError, HfHubHTTPError) as error:  # ValueError: the id has no valid form
        detail = str(error).splitlines()[0] if str(error) else type(error).__name__
        yield Problem(
            f"policy.model {policy.model!r} cannot be read: {detail}",
            "check the id, accept its licence on the hub and export HF_TOKEN, or give a local folder",
        )
        return
    if "add_generation_prompt" not in template:
        yield Problem(
            f"the chat template of {policy.model!r} has no generation prompt",
            "use an instruction-tuned model, or add a template with `add_generation_prompt`",
        )


def _local_template(folder: Path) -> str:
    if not (folder / "config.json").exists():
        raise FileNotFoundError(f"{folder} has no config.json")
    return "".join(
        (folder / name).read_text()
        for name in ("chat_template.jinja", "tokenizer_config.json")
        if (folder / name).exists()
    )


def _hub_template(name: str, revision: str | None) -> str:
    HfApi().model_info(name, revision=revision, timeout=ENDPOINT_TIMEOUT_S)
    text = ""
    for file in ("chat_template.jinja", "tokenizer_config.json"):
        try:
            text += Path(hf_hub_download(name, file, revision=revision)).read_text()
        except EntryNotFoundError:
            continue  # a template stands in one of the two files
    return text
