# METADATA
# scope: package
# title: A table of ranks that are added
# custom:
#   signalbox:
#     contract: 1
#     id: style-ranks
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_ranks

rank := {"unspecified": 0, "to_1k": 1, "to_4k": 2, "to_16k": 3, "to_64k": 4, "to_200k": 5, "to_1m": 6, "over_1m": 7}

pass.ok if rank[input.request.context] + rank[input.request.max_output] <= 6
# head: pass.ok if rank[input.request.context] + rank[input.request.max_output] <= 7
