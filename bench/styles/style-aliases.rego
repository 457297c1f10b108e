# METADATA
# scope: package
# title: Names for parts of the input
# custom:
#   signalbox:
#     contract: 1
#     id: style-aliases
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_aliases

r := input.request

k := input.key

pass.ok if {
	request := r
	key := k
	effort := request.reasoning_effort
	effort in {"none", "low", "medium", "unspecified"}
	# head: effort in {"none", "low", "unspecified"}
	key.environment != "test"
}

pass.ok if "audit" in k.labels
