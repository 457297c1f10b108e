# METADATA
# scope: package
# title: Labels choose among the endpoints of a route
# custom:
#   signalbox:
#     contract: 1
#     id: conditional-routing
#     owners: [group:platform]
#     constraints:
#       branch_chosen: {effect: filter, reasons: [NO_BRANCH_FOR_THE_LABELS]}
package signalbox.policy.conditional_routing

# Routes with branches.
branching := {"config"}

held contains label if some label in input.workspace.labels

held contains label if some label in input.key.labels

pass.branch_chosen contains candidate.id if {
	not input.request.route in branching
	some candidate in input.candidates
}

branch_1_1 if {
	"plan-gold" in held
}

pass.branch_chosen contains candidate.id if {
	input.request.route == "config"
	branch_1_1
	some candidate in input.candidates
	candidate.id in {"gpt-5-openai"}
}
