# The public names; each is imported on first access, as in ir_exec itself.

from ir_exec.batch.running import (
    ItemResult as ItemResult,
    Result as Result,
    run as run,
)
