# METADATA
# scope: package
# title: Differences of sets
# custom:
#   signalbox:
#     contract: 1
#     id: style-set-difference
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_set_difference

approved := {"tools", "json_schema", "reasoning"}
# head: approved := {"tools", "json_schema", "reasoning", "image_input"}

wanted contains need if some need in input.request.needs

pass.ok if count(wanted - approved) == 0
