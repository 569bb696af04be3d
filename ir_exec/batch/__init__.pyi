# The public names, as those of ir_exec itself: each is imported when it is asked for.

from ir_exec.batch.running import (
    ItemResult as ItemResult,
    Result as Result,
    run as run,
)
