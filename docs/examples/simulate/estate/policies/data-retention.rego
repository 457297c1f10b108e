# METADATA
# scope: package
# title: Regulated workspaces use only providers that keep nothing
# custom:
#   signalbox:
#     contract: 1
#     id: data-retention
#     owners: [group:privacy]
#     constraints:
#       nothing_kept: {effect: require_all, reasons: [DATA_RETAINED]}
package signalbox.policy.data_retention

pass.nothing_kept contains candidate.id if {
	some candidate in input.candidates
	input.workspace.tier != "regulated"
}

pass.nothing_kept contains candidate.id if {
	some candidate in input.candidates
	candidate.retention == "none"
}
