# METADATA
# scope: package
# title: Patterns of regions
# custom:
#   signalbox:
#     contract: 1
#     id: style-glob-model
#     owners: [group:platform]
#     constraints:
#       ok: {effect: filter, reasons: [DENIED]}
package signalbox.policy.style_glob_model

pass.ok contains c.id if {
	some c in input.candidates
	glob.match("*-eu*", [], c.region)
	# head: glob.match("eu*", [], c.region)
}

pass.ok contains c.id if {
	some c in input.candidates
	not "eu" in input.workspace.labels
}
