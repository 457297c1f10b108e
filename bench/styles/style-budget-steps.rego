# METADATA
# scope: package
# title: Less effort for the last of a budget
# custom:
#   signalbox:
#     contract: 1
#     id: style-budget-steps
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_budget_steps

order := ["exhausted", "below_tenth", "below_half"]

pass.ok if not input.budget.remaining in order

pass.ok if {
	input.budget.remaining != "exhausted"
	input.request.reasoning_effort in {"none", "low", "unspecified"}
	# head: input.request.reasoning_effort in {"none", "unspecified"}
}
