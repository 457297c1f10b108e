# METADATA
# scope: package
# title: Labels of both
# custom:
#   signalbox:
#     contract: 1
#     id: style-array-concat
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_array_concat

pass.ok if "eu" in array.concat(input.key.labels, input.workspace.labels)
# head: pass.ok if not "eu" in array.concat(input.key.labels, input.workspace.labels)

pass.ok if input.request.stream
