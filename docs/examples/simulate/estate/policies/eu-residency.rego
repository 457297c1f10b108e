# METADATA
# scope: package
# title: Workspaces labelled eu are processed in the European Union
# custom:
#   signalbox:
#     contract: 1
#     id: eu-residency
#     owners: [group:privacy]
#     constraints:
#       processed_in_eu: {effect: filter, reasons: [REGION_NOT_IN_EU]}
package signalbox.policy.eu_residency

pass.processed_in_eu contains candidate.id if {
	some candidate in input.candidates
	not "eu" in input.workspace.labels
}

pass.processed_in_eu contains candidate.id if {
	some candidate in input.candidates
	candidate.region in data.regions.eu
}
