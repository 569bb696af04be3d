# The public names, as in ir_exec itself: each is imported on first use.

from ir_exec.batch.running import (
    ItemResult as ItemResult,
    Result as Result,
    run as run,
)
