package signalbox.policy.reasoning_effort_test

import data.signalbox.policy.reasoning_effort

asking(tier, workspace_labels, key_labels, effort) := {
	"workspace": {"tier": tier, "labels": workspace_labels},
	"key": {"labels": key_labels},
	"request": {"reasoning_effort": effort},
}

ceilings := {"standard": "medium", "regulated": "high"}

test_effort_up_to_the_ceiling_passes[[tier, effort]] if {
	some [tier, effort] in [
		["standard", "unspecified"], ["standard", "none"], ["standard", "minimal"], ["standard", "low"],
		["standard", "medium"], ["regulated", "medium"], ["regulated", "high"],
	]
	reasoning_effort.pass.effort_within_ceiling with input as asking(tier, [], [], effort)
		with reasoning_effort.ceiling_of_tier as ceilings
}

test_effort_above_the_ceiling_does_not_pass[[tier, effort]] if {
	some [tier, effort] in [
		["standard", "high"], ["standard", "xhigh"], ["standard", "max"],
		["regulated", "xhigh"], ["regulated", "max"],
	]
	not reasoning_effort.pass.effort_within_ceiling with input as asking(tier, ["eu"], ["batch"], effort)
		with reasoning_effort.ceiling_of_tier as ceilings
}

test_label_of_the_workspace_raises_the_ceiling if {
	reasoning_effort.pass.effort_within_ceiling with input as asking("standard", ["reasoning-high"], [], "high")
	not reasoning_effort.pass.effort_within_ceiling with input as asking("standard", ["reasoning-high"], [], "max")
}

test_label_of_the_key_raises_the_ceiling if {
	reasoning_effort.pass.effort_within_ceiling with input as asking("standard", [], ["reasoning-max"], "max")
}

test_label_never_lowers_the_ceiling if {
	reasoning_effort.pass.effort_within_ceiling with input as asking("regulated", ["quick"], [], "high")
		with reasoning_effort.ceiling_of_tier as ceilings
		with reasoning_effort.ceiling_of_label as {"quick": "low"}
}

test_unknown_tier_passes_nothing[effort] if {
	some effort in ["none", "unspecified", "max"]
	not reasoning_effort.pass.effort_within_ceiling with input as asking("new", [], [], effort)
}

test_unknown_effort_does_not_pass if {
	not reasoning_effort.pass.effort_within_ceiling with input as asking("regulated", ["reasoning-max"], [], "unheard-of")
}

test_unsaid_effort_counts_as_medium if {
	not reasoning_effort.pass.effort_within_ceiling with input as asking("standard", [], [], "unspecified")
		with reasoning_effort.ceiling_of_tier as {"standard": "low"}
}

test_reason_says_that_the_tier_has_no_ceiling if {
	reasoning_effort.reason.effort_within_ceiling == "EFFORT_CEILING_NOT_DECLARED" with input as asking("new", [], [], "low")
}

test_no_reason_of_its_own_where_the_tier_has_a_ceiling if {
	not reasoning_effort.reason.effort_within_ceiling with input as asking("standard", [], [], "max")
}
