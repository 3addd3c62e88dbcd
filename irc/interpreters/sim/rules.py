"""All families of rules: importing this registers them."""

# pyright: reportUnusedImport=false

from irc.interpreters.sim import (
    access,
    control,
    copies,
    mbarriers,
    products,
    proxies,
    register_pool,
    sync,
    tcgen05,
    tensor_memory,
    thread_state,
    tma,
    warp_matrices,
)
