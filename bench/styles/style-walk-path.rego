# METADATA
# scope: package
# title: A walk along paths
# custom:
#   signalbox:
#     contract: 1
#     id: style-walk-path
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_walk_path

pass.ok if {
	some path, value
	walk(input.request, [path, value])
	count(path) == 1
	path[0] == "stream"
	value == true
	# head: value == false
}
