# METADATA
# scope: package
# title: Tools that providers run need a label, and all tools do outside of the standard tier
# custom:
#   signalbox:
#     contract: 1
#     id: tool-approval
#     owners: [group:platform-security]
#     applies_to: {operations: [chat.completions, responses, messages, messages.count_tokens]}
#     constraints:
#       hosted_tools_labelled: {effect: gate, reasons: [HOSTED_TOOLS_NOT_APPROVED]}
#       tools_labelled: {effect: gate, reasons: [TOOLS_NOT_APPROVED]}
package signalbox.policy.tool_approval

# Values that routes.yaml may declare later.
# signalbox: later hosted-tools, tools

import data.signalbox.lib.workspace

hosted := {"code_execution", "computer_use", "file_search", "mcp", "web_search"}

own := {"custom_tools", "tools"}

needs contains capability if some capability in input.request.needs

pass["hosted_tools_labelled"] if count(needs & hosted) == 0

pass["hosted_tools_labelled"] if workspace.labelled("hosted-tools")

pass["tools_labelled"] if count(needs & own) == 0

pass["tools_labelled"] if workspace.standard

pass["tools_labelled"] if workspace.labelled("tools")

pass["tools_labelled"] if "tools" in input.key.labels
