# METADATA
# scope: package
# title: Helpers over the whole input
# custom:
#   signalbox:
#     contract: 1
#     id: style-helper-input
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_helper_input

pass.ok if allowed(input)

allowed(request) if is_small(request.request)

allowed(all) if {
	caller := all.key
	caller.environment == "production"
	all.workspace.tier != "standard"
	# head: all.workspace.tier == "regulated"
}

is_small(request) if request.context in {"unspecified", "to_1k", "to_4k", "to_16k"}
