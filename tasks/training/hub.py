"""The model hub: whether it may be called, and what a hub id stands for."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub
from huggingface_hub import HfApi, constants
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tasks.core.models import ModelSource


class ModelUnavailable(RuntimeError):
    """The model that the settings name cannot be had; the message says what to do."""


def be_quiet(source: ModelSource) -> None:
    """Send no usage reports, and for a model in a local folder make no call to the hub at all.

    The libraries read their environment variables when they are imported, which in a forked stage is over;
    so their constants are set.
    """
    constants.HF_HUB_DISABLE_TELEMETRY = True
    if Path(source.name).is_dir():
        constants.HF_HUB_OFFLINE = True


def resolve(name: str, revision: str | None, api: HfApi | None = None) -> ModelSource:
    """A hub id pinned to the commit it stands for now, or a folder by its absolute path.

    Without a connection a model that is in the local cache will do.

    Raises:
        ModelUnavailable: no such id or revision, no access to it, or neither hub nor cache has it.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelUnavailable(f"policy.model: the folder {folder} holds no config.json, so it is no model")
        return ModelSource(name=str(folder.resolve()))
    try:
        found = (api or HfApi()).model_info(name, revision=revision)
    except GatedRepoError as error:
        raise ModelUnavailable(
            f"policy.model: {name} is gated. Ask for access on its page, then log in (`hf auth login`) or set HF_TOKEN"
        ) from error
    except RevisionNotFoundError as error:
        raise ModelUnavailable(f"policy.revision: {name} has no revision {revision!r}") from error
    except RepositoryNotFoundError as error:
        raise ModelUnavailable(
            f"policy.model: {name!r} is neither a folder nor a model on the hub. Check the spelling; "
            "for a private model log in (`hf auth login`) or set HF_TOKEN"
        ) from error
    except (OfflineModeIsEnabled, HfHubHTTPError, OSError, ValueError) as error:
        return _cached(name, revision, error)
    return ModelSource(name=name, revision=found.sha)


def _cached(name: str, revision: str | None, error: Exception) -> ModelSource:
    try:
        config = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision)
    except ValueError:
        config = None
    if not isinstance(config, str):
        raise ModelUnavailable(
            f"policy.model: {name!r} is in no local cache and the hub did not answer for it "
            f"({type(error).__name__}: {error}). Check the spelling and the connection, or download it first "
            f"(`hf download {name}`)"
        ) from error
    return ModelSource(name=name, revision=Path(config).parent.name)
