# METADATA
# scope: package
# title: Workspaces of one environment are not used with keys of another
# custom:
#   signalbox:
#     contract: 1
#     id: environment-separation
#     owners: [group:platform]
#     constraints:
#       environment_matches: {effect: gate, reasons: [ENVIRONMENT_MISMATCH, ENVIRONMENT_UNKNOWN]}
package signalbox.policy.environment_separation

# Values that routes.yaml may declare later.
# signalbox: later production, non-production

import data.signalbox.lib.workspace

production if input.key.environment == "production"

pass["environment_matches"] if {
	not workspace.labelled("production")
	not workspace.labelled("non-production")
}

pass["environment_matches"] if {
	workspace.labelled("production")
	not workspace.labelled("non-production")
	production
}

pass["environment_matches"] if {
	workspace.labelled("non-production")
	not workspace.labelled("production")
	not production
}

reason["environment_matches"] := "ENVIRONMENT_UNKNOWN" if input.key.environment == "other"
