# METADATA
# scope: package
# title: Many conditions at once
# custom:
#   signalbox:
#     contract: 1
#     id: style-many-conditions
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_many_conditions

pass.ok if {
	input.key.environment == "production"
	input.key.workload == "web"
	input.key.owner in {"team-risk", "platform"}
	"vip" in input.key.labels
	not "trial" in input.key.labels
	input.request.context != "over_1m"
	input.request.max_output != "over_1m"
	input.request.reasoning_effort != "max"
	input.time.day == "weekday"
	# head: input.time.hour == "morning"
	input.request.stream
}

pass.ok if input.workspace.tier != "regulated"
