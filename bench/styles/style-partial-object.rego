# METADATA
# scope: package
# title: A partial object
# custom:
#   signalbox:
#     contract: 1
#     id: style-partial-object
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_partial_object

owners[name] := team if {
	some name, team in {"web": "team-growth", "batch": "team-risk"}
	# head: some name, team in {"web": "team-growth", "batch": "platform"}
}

pass.ok if owners[input.key.workload] == input.key.owner

pass.ok if not owners[input.key.workload]
