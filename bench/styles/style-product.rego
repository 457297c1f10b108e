# METADATA
# scope: package
# title: A product of lists
# custom:
#   signalbox:
#     contract: 1
#     id: style-product
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_product

denied contains [environment, workload] if {
	some environment in ["test", "staging"]
	some workload in ["batch", "web"]
	[environment, workload] != ["staging", "web"]
	# head: [environment, workload] != ["test", "web"]
}

pass.ok if not [input.key.environment, input.key.workload] in denied
