# METADATA
# scope: package
# title: Images, audio, video and files need a label on the workspace for each of them
# custom:
#   signalbox:
#     contract: 1
#     id: modality-approval
#     owners: [group:platform-security]
#     applies_to: {operations: [chat.completions, responses, messages, messages.count_tokens]}
#     constraints:
#       audio_labelled: {effect: gate, reasons: [AUDIO_NOT_APPROVED, AUDIO_OUTPUT_NOT_APPROVED]}
#       files_labelled: {effect: gate, reasons: [FILES_NOT_APPROVED]}
#       images_labelled: {effect: gate, reasons: [IMAGES_NOT_APPROVED, IMAGE_OUTPUT_NOT_APPROVED]}
#       video_labelled: {effect: gate, reasons: [VIDEO_NOT_APPROVED]}
package signalbox.policy.modality_approval

# Values that routes.yaml may declare later.
# signalbox: later audio, files, images, video

labelled(label) if label in input.workspace.labels

# `every` over what a request needs, instead of a count of what was found: without `needs` this is undefined and closes.
free_of(modality) if {
	every capability in input.request.needs {
		not capability in modality
	}
}

audio := {"audio_input", "audio_output"}

files := {"file_input"}

images := {"image_input", "image_output"}

video := {"video_input"}

pass["audio_labelled"] if free_of(audio)

pass["audio_labelled"] if labelled("audio")

pass["files_labelled"] if free_of(files)

pass["files_labelled"] if labelled("files")

pass["images_labelled"] if free_of(images)

pass["images_labelled"] if labelled("images")

pass["video_labelled"] if free_of(video)

pass["video_labelled"] if labelled("video")

# What a model makes weighs more than what it reads, so it has the more exact reason where a request does both.
reason["audio_labelled"] := "AUDIO_OUTPUT_NOT_APPROVED" if "audio_output" in input.request.needs

reason["images_labelled"] := "IMAGE_OUTPUT_NOT_APPROVED" if "image_output" in input.request.needs
