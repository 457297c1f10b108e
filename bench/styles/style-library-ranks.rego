# METADATA
# scope: package
# title: Ranks of a library
# custom:
#   signalbox:
#     contract: 1
#     id: style-library-ranks
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_library_ranks

import data.signalbox.lib.sizes

pass.ok if sizes.at_most(input.request.max_output, "to_16k")
# head: pass.ok if sizes.at_most(input.request.max_output, "to_4k")

pass.ok if input.workspace.tier == "internal"
