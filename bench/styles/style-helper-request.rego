# METADATA
# scope: package
# title: A helper over the whole request
# custom:
#   signalbox:
#     contract: 1
#     id: style-helper-request
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_helper_request

pass.ok if not costly(input.request)

costly(request) if {
	request.context == "over_1m"
	request.reasoning_effort == "max"
	# head: request.reasoning_effort in {"max", "xhigh"}
}

costly(request) if {
	request.max_output == "over_1m"
	request.stream
}
