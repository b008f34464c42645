{{/* Labels of every object. */}}
{{- define "foreslice.labels" -}}
app.kubernetes.io/name: foreslice
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Labels by which the service's pods, and no others, are known. */}}
{{- define "foreslice.selector" -}}
app.kubernetes.io/name: foreslice
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: service
{{- end }}

{{/* Metadata of what exists only while the release goes. */}}
{{- define "foreslice.uninstall" -}}
name: foreslice-uninstall
labels: {{- include "foreslice.labels" . | nindent 2 }}
annotations:
  helm.sh/hook: post-delete
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "foreslice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Where a pod runs, and as whom. */}}
{{- define "foreslice.pod" -}}
securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
volumes:
  - name: settings
    configMap: {name: foreslice-settings}
  - name: tmp
    emptyDir: {sizeLimit: 256Mi}
  - name: scratch
    emptyDir: {sizeLimit: {{ .Values.scratch }}}
  {{- range .Values.secrets }}
  - name: secret-{{ . }}
    secret: {secretName: {{ . }}, defaultMode: 0440}
  {{- end }}
{{- end }}

{{/* What a container may do and see. */}}
{{- define "foreslice.container" -}}
image: {{ include "foreslice.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
env:
  - {name: FORESLICE_CONFIG, value: /etc/foreslice/settings/foreslice.yaml}
volumeMounts:
  - {name: settings, mountPath: /etc/foreslice/settings, readOnly: true}
  - {name: tmp, mountPath: /tmp}
  - {name: scratch, mountPath: /var/lib/foreslice}
  {{- range .Values.secrets }}
  - {name: secret-{{ . }}, mountPath: /etc/foreslice/secrets/{{ . }}, readOnly: true}
  {{- end }}
{{- end }}
