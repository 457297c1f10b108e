# METADATA
# scope: package
# title: Text of the whole key
# custom:
#   signalbox:
#     contract: 1
#     id: style-json-marshal
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_json_marshal

pass.ok if not contains(json.marshal(input.key), "trial")

pass.ok if input.workspace.tier == "internal"
# head: pass.ok if input.workspace.tier == "regulated"
