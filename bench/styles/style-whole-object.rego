# METADATA
# scope: package
# title: Comparisons of objects
# custom:
#   signalbox:
#     contract: 1
#     id: style-whole-object
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_whole_object

pass.ok if input.time != {"day": "weekend", "hour": "night"}
# head: pass.ok if input.time != {"day": "weekend", "hour": "evening"}

pass.ok if input.key.environment == "production"
