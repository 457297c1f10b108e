# METADATA
# scope: package
# title: Workspaces of every tier but standard use only providers that keep nothing and train on nothing
# custom:
#   signalbox:
#     contract: 1
#     id: data-retention
#     owners: [group:privacy, group:legal]
#     constraints:
#       nothing_kept: {effect: require_all, reasons: [DATA_RETAINED, DATA_RETAINED_WITHOUT_LIMIT]}
#       not_trained_on: {effect: require_all, reasons: [TRAINS_ON_DATA]}
package signalbox.policy.data_retention

import data.signalbox.lib.workspace

pass.nothing_kept contains candidate.id if {
	some candidate in input.candidates
	workspace.standard
}

pass.nothing_kept contains candidate.id if {
	some candidate in input.candidates
	candidate.retention == "none"
}

reason.nothing_kept[candidate.id] := "DATA_RETAINED_WITHOUT_LIMIT" if {
	some candidate in input.candidates
	candidate.retention == "unlimited"
}

pass.not_trained_on contains candidate.id if {
	some candidate in input.candidates
	workspace.standard
}

pass.not_trained_on contains candidate.id if {
	some candidate in input.candidates
	not candidate.trains_on_data
}
