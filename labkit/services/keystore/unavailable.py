"""Redis commands that scripts may not use, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Commands by the reason for which they are refused.
_BY_REASON = {
    "a call never waits for another one": (
        "blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop wait waitaof"
    ),
    "a solution has no scripts within the store": (
        "eval evalsha eval_ro evalsha_ro fcall fcall_ro function script"
    ),
    "a call is a transaction of its own": "multi exec discard watch unwatch",
    "there are no subscriptions": (
        "subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe publish spublish pubsub"
    ),
    "use the operations list and clear": "keys scan randomkey dbsize flushall flushdb",
    "a solution has one database": "select move swapdb migrate",
    "it is a matter of the server": (
        "acl auth bgrewriteaof bgsave client cluster command config debug echo failover hello info lastsave latency "
        "memory module monitor object ping psync quit readonly readwrite replicaof reset role save shutdown slaveof "
        "slowlog sync time"
    ),
    "its binary form is that of another store": "dump restore restore-asking",
    "Redis 7.0 has no times for fields of a hash": (
        "hexpire hpexpire hexpireat hpexpireat httl hpttl hexpiretime hpexpiretime hpersist hgetex hsetex hgetdel"
    ),
    "the embedded store cannot restore the newest id of a stream": (
        "xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim"
    ),
}
UNAVAILABLE: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
)
