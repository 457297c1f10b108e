# METADATA
# scope: package
# title: Members by name
# custom:
#   signalbox:
#     contract: 1
#     id: style-input-by-name
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_input_by_name

conditions := {"environment": "production", "workload": "web"}
# head: conditions := {"environment": "production", "workload": "batch"}

pass.ok if {
	every name, value in conditions {
		input.key[name] == value
	}
}

pass.ok if input.workspace.tier == "internal"
