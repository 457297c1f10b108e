package signalbox.policy.tool_approval_test

import data.signalbox.policy.tool_approval

asking(tier, workspace_labels, key_labels, needs) := {
	"workspace": {"tier": tier, "labels": workspace_labels},
	"key": {"labels": key_labels},
	"request": {"needs": needs},
}

test_request_without_tools_passes if {
	tool_approval.pass.hosted_tools_labelled with input as asking("regulated", [], [], ["json_schema"])
	tool_approval.pass.tools_labelled with input as asking("regulated", [], [], ["json_schema"])
}

test_standard_workspace_may_use_its_own_tools if {
	tool_approval.pass.tools_labelled with input as asking("standard", [], [], ["tools", "custom_tools"])
}

test_regulated_workspace_needs_a_label_for_tools if {
	not tool_approval.pass.tools_labelled with input as asking("regulated", ["eu"], ["batch"], ["tools"])
	tool_approval.pass.tools_labelled with input as asking("regulated", ["tools"], [], ["tools"])
	tool_approval.pass.tools_labelled with input as asking("regulated", [], ["tools"], ["tools"])
}

test_hosted_tools_need_a_label_in_every_tier[tier] if {
	some tier in ["standard", "regulated"]
	not tool_approval.pass.hosted_tools_labelled with input as asking(tier, ["tools"], ["tools"], ["web_search"])
	tool_approval.pass.hosted_tools_labelled with input as asking(tier, ["hosted-tools"], [], ["web_search"])
}

test_every_hosted_tool_is_covered[capability] if {
	some capability in ["code_execution", "computer_use", "file_search", "mcp", "web_search"]
	not tool_approval.pass.hosted_tools_labelled with input as asking("standard", [], [], [capability])
}
