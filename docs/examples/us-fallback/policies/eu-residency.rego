# METADATA
# scope: package
# title: Workspaces labelled eu are processed in the European Union, on the primary and on every fallback
# custom:
#   signalbox:
#     contract: 1
#     id: eu-residency
#     owners: [group:privacy]
#     constraints:
#       processed_in_eu: {effect: require_all, reasons: [REGION_NOT_IN_EU, EU_REGIONS_NOT_DECLARED]}
package signalbox.policy.eu_residency

import data.signalbox.lib.workspace

pass.processed_in_eu contains candidate.id if {
	some candidate in input.candidates
	not workspace.labelled("eu")
}

pass.processed_in_eu contains candidate.id if {
	some candidate in input.candidates
	candidate.region in data.regions.eu
}

reason.processed_in_eu := "EU_REGIONS_NOT_DECLARED" if not data.regions.eu
