"""Random commands for the tests: valid and nearly valid ones, of all commands of the list."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

DAY = 86_400

# Each command with the possible forms of its arguments, between bars. A word is a kind of argument below,
# or literal; a form with `!` is refused in any case.
FORMS = {
    "get": "",
    "set": """value | value EX ahead | value PX ahead_ms | value EXAT at | value PXAT at_ms | value NX
        | value XX | value KEEPTTL | value GET | value NX GET | value XX EX ahead GET | value ex ahead nx
        | ! value NX XX | ! value EX ahead PX ahead_ms | ! value EX ahead KEEPTTL""",
    "del": "| key | key key",
    "setnx": "value",
    "strlen": "",
    "type": "",
    "exists": "| key | key key",
    "append": "value",
    "bitcount": "| index index | index index BIT | index index BYTE",
    "bitpos": "bit | bit index | bit index index | bit index index BIT",
    "getbit": "offset",
    "setbit": "offset bit",
    "getrange": "index index",
    "incr": "",
    "incrby": "integer",
    "decr": "",
    "decrby": "integer | ! -9223372036854775808",
    "getset": "value",
    "incrbyfloat": "decimal",
    "lpush": "value | value value value",
    "lpushx": "value | value value",
    "lindex": "index",
    "llen": "",
    "linsert": "BEFORE value value | after value value",
    "lrange": "index index | 0 -1",
    "lrem": "index value",
    "lset": "index value",
    "ltrim": "index index | 0 9",
    "lpop": "| count",
    "rpop": "| count",
    "rpush": "value | value value value",
    "rpushx": "value | value value",
    "sadd": "member | member member member",
    "srem": "member | member member",
    "scard": "",
    "smembers": "",
    "sismember": "member",
    "srandmember": "| repeats",
    "spop": "| count",
    "setex": "ahead value",
    "psetex": "ahead_ms value",
    "expire": "ahead | ahead option | past",
    "pexpireat": "at_ms | at_ms option | past",
    "pexpire": "ahead_ms | ahead_ms option | past",
    "expireat": "at | at option | past",
    "pttl": "",
    "ttl": "",
    "persist": "",
    "zadd": """score member | score member score member | NX score member | XX score member
        | XX CH score member | GT score member | LT CH score member | INCR score member | NX INCR score member
        | ! NX GT score member | ! NX XX score member | ! INCR score member score member""",
    "zcard": "",
    "zcount": "bound bound | -inf +inf",
    "zincrby": "score member",
    "zlexcount": "lexical lexical | - +",
    "zrange": """index index | index index WITHSCORES | bound bound BYSCORE | index index REV
        | bound bound BYSCORE LIMIT index count | bound bound BYSCORE REV WITHSCORES | 0 -1 WITHSCORES
        | lexical lexical BYLEX | lexical lexical BYLEX LIMIT 0 count
        | index index LIMIT 0 -1 | ! index index LIMIT 0 1 | ! lexical lexical BYLEX WITHSCORES
        | ! bound bound BYSCORE BYLEX | ! index index WITHSCORES LIMIT 0""",
    "zrangebylex": "lexical lexical | - + | lexical lexical LIMIT index count",
    "zrangebyscore": """bound bound | bound bound WITHSCORES | bound bound WITHSCORES LIMIT index count
        | bound bound LIMIT index count | -inf +inf WITHSCORES""",
    "zrank": "member",
    "zrem": "member | member member",
    "zremrangebylex": "lexical lexical",
    "zremrangebyscore": "bound bound",
    "zremrangebyrank": "index index",
    "zrevrange": "index index | index index withscores | ! bound bound BYSCORE | ! index index REV",
    "zrevrangebylex": "lexical lexical | + - | ! + - WITHSCORES | lexical lexical LIMIT index count",
    "zrevrangebyscore": "bound bound | bound bound WITHSCORES LIMIT index count | +inf -inf",
    "zrevrank": "member",
    "zscore": "member",
    "hdel": "field | field field",
    "hexists": "field",
    "hget": "field",
    "hgetall": "",
    "hincrby": "field integer",
    "hincrbyfloat": "field decimal | ! field inf",
    "hkeys": "",
    "hlen": "",
    "hmget": "field | field field field",
    "hstrlen": "field",
    "hvals": "",
    "hscan": "cursor | cursor MATCH glob | cursor MATCH glob COUNT 100 | ! cursor COUNT 0 | ! cursor MATCH",
    "hset": "field value | field value field value",
    "hmset": "field value | field value field value",
    "hsetnx": "field value",
}

BAD_INTEGERS = ["", "abc", "1.5", " 1", "1 ", "+1", "01", "-0", "1e3", "0x10", "9223372036854775808", "nan"]
FAR = [
    "0",
    "-1",
    str(2**63 - 1),
    str(1 - 2**63),
    "-9223372036854776",
    "9223372036854776",
    "-9223372036854775",
]
BAD_FLOATS = ["", "abc", "1.5.2", " 1", "1 ", "nan", "1,5", "--1", "1e", ".", "1_0", "0x10"]

# Each kind of argument: valid values, and invalid ones.
GOOD = {
    "value": ["", "a", "b", "hello", "10", "-3", "3.5", "0", "zero\0byte", "ünï", "x" * 70, str(2**63 - 1)],
    "number": ["0", "1", "-7", "100", "12345", "0"],
    "member": ["a", "b", "c", "d", "é", "", "10", "9"],
    "field": ["f", "g", "h", "n", "é", ""],
    "integer": ["0", "1", "2", "7", "-1", "-5", "100", str(2**63 - 1), str(1 - 2**63)],
    "index": ["0", "0", "1", "2", "-1", "-1", "-2", "3", "-7", "100", "-100"],
    "count": ["0", "1", "2", "3", "100"],
    "bit": ["0", "1"],
    "offset": ["0", "1", "7", "8", "63", "1000"],
    "decimal": [
        "0.1",
        "0.2",
        "1",
        "-1.5",
        "10.5",
        "3.14159",
        "-0.3",
        "100",
        "5e3",
        "1e-5",
        "2.50",
        "1e15",
        "1e-400",
    ],
    "score": ["0", "1", "2", "-1", "1.5", "3.2", "0.1", "1e10", "1e20", "1.5e-7", "inf", "-inf", "12345.678"],
    "bound": ["-inf", "+inf", "0", "1", "(1", "(-1", "1.5", "3.2", "(inf", "(-inf"],
    "lexical": ["-", "+", "[a", "[b", "(b", "(c", "[", "("],
    "glob": ["*", "f*", "?", "[fg]", "[^f]", "n", "*é*", "\\f", "[f-h]", "a*b*c", "", "["],
    "option": ["NX", "XX", "GT", "LT", "nx"],
    "cursor": ["0", "0", "+0", "-0", ""],
    "past": ["0", "-1", "-100000"],
    "repeats": ["-3", "-1", "0", "2"],
    "rank": ["1", "2", "-1", "-2", "100"],
    "positive": ["1", "2", "100"],
    "end": ["LEFT", "RIGHT", "left", "right"],
    "pattern": ["s*", "n*", "*", "h*->f", "t*->", "h1->f*", "nosort", "#", "->f*"],
    # Not at the poles and the antimeridian, nor half the globe: Redis leaves out some places there.
    "longitude": ["13.361389", "15.087269", "-0.5", "120.25", "13.5833", "0"],
    "latitude": ["38.115556", "37.502669", "-45", "60.125", "37.316667", "0"],
    "radius": ["0", "1", "200", "1500.5", "100000"],
    "meters": ["m", "km", "ft", "mi", "KM"],
    "weight": ["1", "2", "0", "-1", "0.5", "inf"],
    "aggregate": ["SUM", "MIN", "max"],
    "overflow": ["WRAP", "SAT", "fail"],
    "encoding": ["u8", "i8", "u1", "u63", "i64", "i5", "u4"],
}
BAD = {
    "integer": BAD_INTEGERS,
    "index": BAD_INTEGERS,
    "count": [*BAD_INTEGERS, "-1"],
    "repeats": BAD_INTEGERS,
    "bit": ["2", "-1", *BAD_INTEGERS],
    "offset": ["-1", "4294967296", *BAD_INTEGERS],
    "decimal": ["inf", "-inf", *BAD_FLOATS],
    "score": BAD_FLOATS,
    "bound": ["(", "((1", *BAD_FLOATS],
    "lexical": ["a", "", "abc"],
    "option": ["foo", ""],
    "rank": ["0", *BAD_INTEGERS],
    "positive": ["0", "-1", *BAD_INTEGERS],
    "end": ["middle", ""],
    "weight": BAD_FLOATS,
    "longitude": ["180.1", "-181", "inf", *BAD_FLOATS],
    "latitude": ["85.06", "-90", *BAD_FLOATS],
    "radius": ["-1", *BAD_FLOATS],
    "meters": ["parsec", ""],
    "aggregate": ["mean", ""],
    "overflow": ["none", ""],
    "encoding": ["u64", "i65", "x8", "", "u0", "8"],
    "cursor": ["abc", "1.5", "-", "18446744073709551616", " 1"],
    "ahead": [*FAR, *BAD_INTEGERS],
    "ahead_ms": [*FAR, *BAD_INTEGERS],
    "at": BAD_INTEGERS,
    "at_ms": BAD_INTEGERS,
}
EXACT_DECIMALS = ["1", "-1.5", "10.5", "100", "5e3", "0.25", "2.50"]
EXTRA = ["foo", "", "NX", "LIMIT", "10"]

# The keys of each kind of content; x are sorted sets whose scores are all 0, as the lexical commands need.
STRING, NUMBER, LIST, SET, SCORED, LEXICAL, HASH, NONE = "s", "n", "l", "t", "z", "x", "h", "missing"
PLACED = "g"  # sorted sets of places
SKETCH = "p"  # whose value has another form in Redis, so that it is read by pfcount alone
OWN_KEYS = {STRING: ["s1", "s2", "s3"], NUMBER: ["n1", "n2"], LIST: ["l1", "l2"], SET: ["t1", "t2"]}
OWN_KEYS |= {SCORED: ["z1", "z2"], LEXICAL: ["x1", "x2"], HASH: ["h1", "h2"], NONE: ["missing"]}
OWN_KEYS[PLACED] = ["g1", "g2"]
ELSEWHERE = [STRING, LIST, SET, HASH, NONE]  # probability of a command on a key of another type
OTHER_KEYS = {"string": ["s1", "s2", "s3"], "list": ["l1", "l2"], "set": ["t1", "t2"], "scored": ["z1", "z2"]}
OTHER_KEYS["placed"] = ["g1", "g2"]
OTHER_KEYS |= {name: [*keys, "missing", "h1"] for name, keys in OTHER_KEYS.items()}
SKETCHES = ["p1", "p2", "p3"]
OTHER_KEYS["sketch"] = SKETCHES
KEYS = [key for keys in OWN_KEYS.values() for key in keys]
STRINGS = frozenset(
    "get set setnx strlen append bitcount bitpos getbit setbit getrange getset setex psetex".split()
)
NUMBERS = frozenset("incr incrby decr decrby incrbyfloat".split())
ANY = frozenset(
    """del type exists expire pexpireat pexpire expireat pttl ttl persist
    unlink touch expiretime pexpiretime rename renamenx copy""".split()
)
# Commands beyond the platform's list; `string`, `list`, `set` and `scored` are mostly keys of such values.
FURTHER = {
    "mget": "| string | string string key",
    "mset": "value | value string value | value string value string value",
    "msetnx": "value | value string value",
    "getdel": "",
    "getex": """| EX ahead | PX ahead_ms | EXAT at | PXAT at_ms | PERSIST | ex ahead
        | ! EX ahead PERSIST | ! EX ahead PX ahead_ms""",
    "setrange": "offset value | 0 value",
    "substr": "index index",
    "lcs": "string | string LEN | string IDX | string IDX MINMATCHLEN count WITHMATCHLEN | ! string LEN IDX",
    "bitop": "AND string | or string string | XOR string string string | NOT string | ! NOT string string",
    "bitfield": """GET encoding offset | SET encoding offset integer | INCRBY encoding offset integer
        | OVERFLOW overflow INCRBY encoding offset integer GET encoding offset
        | GET encoding #1 SET encoding #2 integer | INCRBY encoding offset integer INCRBY encoding offset integer""",
    "bitfield_ro": "GET encoding offset | GET encoding #1 GET encoding offset | ! SET u8 0 1",
    "unlink": "| key | key key",
    "touch": "| key | key key",
    "rename": "same",
    "renamenx": "same",
    "copy": "same | same REPLACE | same replace",
    "expiretime": "",
    "pexpiretime": "",
    "lpos": """value | value RANK rank | value COUNT count | value MAXLEN count
        | value RANK rank COUNT count MAXLEN count | ! value RANK 0""",
    "lmove": "list end end",
    "rpoplpush": "list",
    "lmpop": "1 end | 2 list end | 2 list end COUNT positive | 3 list list end",
    "smove": "set member",
    "smismember": "member | member member member",
    "sdiff": "| set | set set",
    "sdiffstore": "set | set set",
    "sinter": "| set | set set",
    "sinterstore": "set | set set",
    "sintercard": "1 | 2 set | 2 set LIMIT count | 3 set set LIMIT count",
    "sunion": "| set | set set",
    "sunionstore": "set | set set",
    "sscan": "cursor | cursor MATCH glob | cursor MATCH glob COUNT 100 | ! cursor COUNT 0 | ! cursor MATCH",
    "zmscore": "member | member member member",
    "zpopmin": "| count",
    "zpopmax": "| count",
    "zmpop": "1 MIN | 2 scored max | 2 scored MIN COUNT positive",
    "zrandmember": "| repeats | repeats WITHSCORES",
    "zrangestore": """scored index index | scored bound bound BYSCORE | scored index index REV
        | scored bound bound BYSCORE LIMIT index count | ! scored index index LIMIT 0 1""",
    "zscan": "cursor | cursor MATCH glob | cursor MATCH glob COUNT 100 | ! cursor COUNT 0 | ! cursor MATCH",
    "zdiff": "1 | 2 scored | 2 scored WITHSCORES | 3 scored scored",
    "zdiffstore": "1 scored | 2 scored scored",
    "zinter": """1 | 2 scored | 2 scored WITHSCORES | 2 scored WEIGHTS weight weight WITHSCORES
        | 2 scored AGGREGATE aggregate | 2 scored WEIGHTS weight weight AGGREGATE aggregate WITHSCORES""",
    "zinterstore": "1 scored | 2 scored scored | 2 scored scored WEIGHTS weight weight AGGREGATE aggregate",
    "zintercard": "1 | 2 scored | 2 scored LIMIT count",
    "zunion": """1 | 2 scored | 2 scored WITHSCORES | 2 scored WEIGHTS weight weight WITHSCORES
        | 2 scored AGGREGATE aggregate | 2 scored WEIGHTS weight weight AGGREGATE aggregate WITHSCORES""",
    "zunionstore": "1 scored | 2 scored scored | 2 scored scored WEIGHTS weight weight AGGREGATE aggregate",
    "hrandfield": "| repeats | repeats WITHVALUES",
    # Not BY a pattern with ALPHA, since Redis leaves the order of equal items to chance.
    "sort": """ALPHA | ALPHA DESC | alpha LIMIT index count | BY pattern LIMIT index count | BY pattern desc GET pattern
        | ALPHA GET # GET pattern | | ALPHA STORE list | BY pattern GET pattern STORE list | ! ALPHA LIMIT 0
        | ! BY | ! ALPHA backwards""",
    "sort_ro": "ALPHA | BY pattern GET # GET pattern | ALPHA LIMIT index count DESC | ! ALPHA STORE list",
    "geoadd": """longitude latitude member | longitude latitude member longitude latitude member
        | NX longitude latitude member | XX CH longitude latitude member | ch longitude latitude member
        | ! NX XX longitude latitude member | ! longitude latitude""",
    "geopos": "| member | member member",
    "geohash": "| member | member member",
    "geodist": "member member | member member meters | ! member member m m",
    "geosearch": """FROMMEMBER member BYRADIUS radius meters ASC | FROMLONLAT longitude latitude BYRADIUS radius meters
        | FROMLONLAT longitude latitude BYBOX radius radius meters DESC WITHDIST
        | frommember member BYBOX radius radius meters WITHCOORD WITHHASH WITHDIST
        | FROMMEMBER member BYRADIUS radius meters COUNT 100 | ! FROMMEMBER member BYRADIUS radius meters ANY
        | ! FROMMEMBER member FROMLONLAT 1 1 BYRADIUS 5 m | ! BYRADIUS radius meters ASC WITHDIST""",
    "geosearchstore": """placed FROMMEMBER member BYRADIUS radius meters | placed FROMLONLAT longitude latitude BYBOX
        radius radius meters STOREDIST | ! placed FROMMEMBER member BYRADIUS radius meters WITHDIST""",
    "georadius": """longitude latitude radius meters | longitude latitude radius meters WITHDIST WITHCOORD ASC
        | longitude latitude radius meters STORE placed | longitude latitude radius meters STOREDIST placed
        | ! longitude latitude radius meters WITHDIST STORE placed | ! longitude latitude radius meters COUNT 0""",
    "georadius_ro": """longitude latitude radius meters | longitude latitude radius meters WITHHASH DESC
        | ! 1 1 1 m STORE g1""",
    "georadiusbymember": """member radius meters | member radius meters WITHDIST | member radius meters STORE placed
        | ! member radius meters STORE""",
    "georadiusbymember_ro": """member radius meters | member radius meters WITHCOORD ASC
        | ! member radius meters STORE g1""",
    "pfadd": "| member | member value value",
    "pfcount": "| sketch | sketch sketch",
    "pfmerge": "| sketch | sketch sketch",
}
FURTHER_KINDS = {
    name: kind
    for kind, names in (
        (STRING, "mget mset msetnx getdel getex setrange substr lcs bitop bitfield bitfield_ro"),
        (LIST, "lpos lmove rpoplpush lmpop"),
        (SET, "smove smismember sdiff sdiffstore sinter sinterstore sintercard sunion sunionstore sscan"),
        (SCORED, " ".join(name for name in FURTHER if name[0] == "z")),
        (HASH, "hrandfield"),
        (LIST, "sort sort_ro"),
        (PLACED, " ".join(name for name in FURTHER if name.startswith("geo"))),
        (SKETCH, "pfadd pfcount pfmerge"),
    )
    for name in names.split()
}


@dataclass(frozen=True)
class RandomCommand:
    """A command with at most one mistake, so that there is one error to expect."""

    name: str
    key: str
    args: list[str]

    def __str__(self) -> str:
        return f"{self.name} {self.key} {self.args}"


class CommandGenerator:
    """Generator of commands from a seed; each command of the list is equally frequent.

    forms: of the commands; now: seconds since 1970; exact: only decimal fractions whose sums are exact in any
    machine's floats.
    """

    def __init__(
        self, seed: int, now: int, exact: bool = False, forms: Mapping[str, str] = MappingProxyType(FORMS)
    ) -> None:
        self._chance = random.Random(seed)
        self._forms = forms
        self._now = now
        self._good = {**GOOD, "decimal": EXACT_DECIMALS} if exact else GOOD

    def play(self, count: int) -> Iterator[RandomCommand]:
        """Return `count` commands, some of them in capitals."""
        names = list(self._forms)
        for _ in range(count):
            played = self._command(self._chance.choice(names))
            if self._chance.random() < 0.2:
                played = RandomCommand(played.name.upper(), played.key, played.args)
            yield played

    def _command(self, name: str) -> RandomCommand:
        chance = self._chance
        words = chance.choice(self._forms[name].split("|")).split()
        refused = words[:1] == ["!"]
        words = words[refused:]
        kind = self._kind(name, words)
        if kind == LEXICAL and name == "zadd":
            words = ["0" if word == "score" else word for word in words]
        if kind == NUMBER:
            words = ["number" if word == "value" else word for word in words]
        key = chance.choice(SKETCHES if kind == SKETCH else OWN_KEYS[kind] if kind else KEYS)
        args = [self._argument(word, key) for word in words]
        mistake = "none" if refused else chance.choice(["none"] * 12 + ["bad", "bad", "extra", "less", "key"])
        positions = [position for position, word in enumerate(words) if word in BAD]
        if mistake == "bad" and positions:
            position = chance.choice(positions)
            args[position] = chance.choice(BAD[words[position]])
        elif mistake == "extra":
            args.append(chance.choice(EXTRA))
        elif mistake == "less":
            args = args[:-1]
        elif (
            mistake == "key" and kind and kind != SKETCH
        ):  # which would leave a value of another form than Redis'
            key = chance.choice([key for other in ELSEWHERE for key in OWN_KEYS[other]])
        return RandomCommand(name, key, args)

    def _kind(self, name: str, words: list[str]) -> str | None:
        """Return the type of keys that a command needs; None for any."""
        if name in ANY:
            return None
        if name in FURTHER_KINDS:
            return FURTHER_KINDS[name]
        if name in NUMBERS:
            return NUMBER
        if name in STRINGS:
            return self._chance.choice([STRING, STRING, NUMBER]) if name in ("set", "getset") else STRING
        if "BYLEX" in words or "lex" in name:
            return LEXICAL
        if name == "zadd" and "INCR" not in words:
            return self._chance.choice([SCORED, LEXICAL])
        return {"l": LIST, "r": LIST, "s": SET, "z": SCORED, "h": HASH}[name[0]]

    def _argument(self, word: str, key: str) -> str:
        if word in OTHER_KEYS:
            return self._chance.choice(OTHER_KEYS[word])
        if word == "same":  # a key for values of the same type
            return self._chance.choice(next(keys for keys in OWN_KEYS.values() if key in keys))
        far = self._chance.choice([1, 2, 30, 365]) * DAY + self._chance.randrange(DAY)
        far_ms = far * 1000 + self._chance.randrange(1000)
        ahead = {"ahead": far, "ahead_ms": far_ms, "at": self._now + far, "at_ms": self._now * 1000 + far_ms}
        if word in ahead:
            return str(ahead[word])
        if word == "key":
            return self._chance.choice(KEYS)
        return self._chance.choice(self._good[word]) if word in GOOD else word
