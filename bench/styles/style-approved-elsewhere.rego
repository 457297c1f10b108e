# METADATA
# scope: package
# title: Data of routes.yaml
# custom:
#   signalbox:
#     contract: 1
#     id: style-approved-elsewhere
#     owners: [group:platform]
#     constraints:
#       ok: {effect: require_all, reasons: [DENIED]}
package signalbox.policy.style_approved_elsewhere

pass.ok contains c.id if {
	some c in input.candidates
	c.region in data.approved.regions[input.workspace.id]
}

pass.ok contains c.id if {
	some c in input.candidates
	c.region in data.regions.eu
	# head: c.retention == "none"
}
