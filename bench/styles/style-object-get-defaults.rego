# METADATA
# scope: package
# title: Defaults by object.get
# custom:
#   signalbox:
#     contract: 1
#     id: style-object-get-defaults
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_object_get_defaults

limits := {"production": "to_64k", "test": "to_4k"}

pass.ok if {
	wanted := object.get(limits, input.key.environment, "to_1k")
	# head: wanted := object.get(limits, input.key.environment, "to_4k")
	allowed[wanted][input.request.context]
}

allowed := {
	"to_1k": {"unspecified": true, "to_1k": true},
	"to_4k": {"unspecified": true, "to_1k": true, "to_4k": true},
	"to_64k": {"unspecified": true, "to_1k": true, "to_4k": true, "to_16k": true, "to_64k": true},
}
