# METADATA
# scope: package
# title: A walk over the whole request
# custom:
#   signalbox:
#     contract: 1
#     id: style-walk-request
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_walk_request

pass.ok if not too_large

too_large if {
	walk(input.request, [_, value])
	value == "over_1m"
	# head: value in {"over_1m", "to_200k"}
}
