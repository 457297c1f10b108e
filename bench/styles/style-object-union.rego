# METADATA
# scope: package
# title: Settings laid over each other
# custom:
#   signalbox:
#     contract: 1
#     id: style-object-union
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_object_union

settings := object.union({"limit": "to_64k", "stream": true}, overrides)

overrides := {"limit": "to_4k"} if {
	input.key.environment == "test"
} else := {"stream": false} if {
	input.key.workload == "batch"
} else := {}

pass.ok if {
	input.request.context != settings.limit
	# head: input.request.max_output != settings.limit
	input.request.stream == settings.stream
}
