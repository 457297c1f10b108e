# METADATA
# scope: package
# title: Paths by object.get
# custom:
#   signalbox:
#     contract: 1
#     id: style-object-get-path
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_object_get_path

pass.ok if object.get(input, ["key", "environment"], "none") != "test"

pass.ok if object.get(input.request, "stream", true) == false

pass.ok if object.get(input.key, "owner", "nobody") == "team-risk"
# head: pass.ok if object.get(input.key, "owner", "nobody") in {"team-risk", "platform"}
