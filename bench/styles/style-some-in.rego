# METADATA
# scope: package
# title: A list of rules
# custom:
#   signalbox:
#     contract: 1
#     id: style-some-in
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_some_in

rules := [
	{"tier": "standard", "effort": "max"},
	{"tier": "standard", "effort": "xhigh"},
	{"tier": "regulated", "effort": "max"},
	# head: {"tier": "regulated", "effort": "high"},
]

pass.ok if not refused

refused if {
	some rule in rules
	rule.tier == input.workspace.tier
	rule.effort == input.request.reasoning_effort
}
