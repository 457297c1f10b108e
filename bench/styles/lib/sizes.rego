package signalbox.lib.sizes

order := ["unspecified", "to_1k", "to_4k", "to_16k", "to_64k", "to_200k", "to_1m", "over_1m"]

rank[size] := position if some position, size in order

at_most(size, limit) if rank[size] <= rank[limit]
