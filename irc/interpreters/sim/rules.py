"""All families of rules: importing this registers them."""

from irc.interpreters.sim import (
    access,
    control,
    copies,
    mbarriers,
    places,
    products,
    proxies,
    register_pool,
    sync,
    tma,
    warp_matrices,
)

__all__ = [
    "access",
    "control",
    "copies",
    "mbarriers",
    "places",
    "products",
    "proxies",
    "register_pool",
    "sync",
    "tma",
    "warp_matrices",
]
