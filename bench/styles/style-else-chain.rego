# METADATA
# scope: package
# title: A chain of else
# custom:
#   signalbox:
#     contract: 1
#     id: style-else-chain
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_else_chain

limit := 6 if {
	input.workspace.tier == "internal"
} else := 5 if {
	"vip" in input.key.labels
} else := 4 if {
	input.key.environment == "production"
	# head: input.key.environment in {"production", "staging"}
} else := 2

size := {"unspecified": 1, "to_1k": 1, "to_4k": 2, "to_16k": 3, "to_64k": 4, "to_200k": 5, "to_1m": 6, "over_1m": 7}

pass.ok if size[input.request.max_output] <= limit
