# METADATA
# scope: package
# title: Reasoning effort has a ceiling for each tier, which labels raise
# custom:
#   signalbox:
#     contract: 1
#     id: reasoning-effort
#     owners: [group:platform]
#     applies_to: {operations: [chat.completions, responses, messages]}
#     constraints:
#       effort_within_ceiling: {effect: gate, reasons: [EFFORT_ABOVE_CEILING, EFFORT_CEILING_NOT_DECLARED]}
package signalbox.policy.reasoning_effort

# Values that routes.yaml may declare later.
# signalbox: later standard, regulated, reasoning-high, reasoning-max

# A request that says nothing gets the model's own default; it counts as medium. An effort that is not listed has no
# level, and what has no level is within no ceiling.
level := {
	"none": 0,
	"minimal": 1,
	"low": 2,
	"medium": 3,
	"unspecified": 3,
	"high": 4,
	"xhigh": 5,
	"max": 6,
}

# A tier that is not listed has no ceiling: without a label nothing passes.
ceiling_of_tier := {"standard": "medium", "regulated": "high"}

# Labels of the workspace or of the key.
ceiling_of_label := {"reasoning-high": "high", "reasoning-max": "max"}

labels contains label if some label in input.workspace.labels

labels contains label if some label in input.key.labels

pass["effort_within_ceiling"] if {
	level[input.request.reasoning_effort] <= level[ceiling_of_tier[input.workspace.tier]]
}

pass["effort_within_ceiling"] if {
	some label in labels
	level[input.request.reasoning_effort] <= level[ceiling_of_label[label]]
}

reason["effort_within_ceiling"] := "EFFORT_CEILING_NOT_DECLARED" if not ceiling_of_tier[input.workspace.tier]
