"""One of several processes that train together: ``python -m tasks.training.worker JOB.json``."""

from __future__ import annotations

import sys
from pathlib import Path

from tasks.core.stage import Job, run_here
from tasks.training.launch import write_result


def main(job_path: Path) -> None:
    """Run the job's body as this rank and leave its result."""
    job = Job.model_validate_json(job_path.read_bytes())
    write_result(job, run_here(job))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
