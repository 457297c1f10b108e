# METADATA
# scope: package
# title: Sorted numbers
# custom:
#   signalbox:
#     contract: 1
#     id: style-sorted-list
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_sorted_list

wanted := sort([weight[need] | some need in input.request.needs; weight[need]])

weight := {"tools": 3, "json_schema": 2, "reasoning": 1}
# head: weight := {"tools": 3, "json_schema": 3, "reasoning": 1}

pass.ok if sum(wanted) < 4
