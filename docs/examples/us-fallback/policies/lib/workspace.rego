package signalbox.lib.workspace

labelled(label) if label in input.workspace.labels

standard if input.workspace.tier == "standard"
