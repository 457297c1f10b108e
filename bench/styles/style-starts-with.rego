# METADATA
# scope: package
# title: Beginnings of names
# custom:
#   signalbox:
#     contract: 1
#     id: style-starts-with
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_starts_with

pass.ok if startswith(input.key.owner, "team-")
# head: pass.ok if startswith(input.key.owner, "plat")

pass.ok if {
	some label in input.key.labels
	endswith(label, "-only")
}
