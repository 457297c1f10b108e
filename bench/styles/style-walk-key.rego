# METADATA
# scope: package
# title: A walk over the whole key
# custom:
#   signalbox:
#     contract: 1
#     id: style-walk-key
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_walk_key

pass.ok if not is_trial

is_trial if {
	walk(input.key, [_, value])
	value == "trial"
}

pass.ok if input.request.stream
# head: pass.ok if input.request.zdr
