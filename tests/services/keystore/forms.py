"""Forms of the arguments of commands beyond the platform's list, in the words of `played`."""

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
