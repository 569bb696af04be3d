# The public names; each is imported on first access, as in ir_exec itself.

from ir_exec.text.folders.checking import (
    check_folder as check_folder,
)
from ir_exec.text.generation.comparing import (
    compare_tokens as compare_tokens,
)
from ir_exec.text.generation.generating import (
    load as load,
)
from ir_exec.text.targets import (
    check_for as check_for,
)
