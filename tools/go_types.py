"""Facts about Go types that OpenAPI lacks: pointer fields, and fields encoded when empty.

Each line names a type and its fields; `tools/schemas.py` adds the facts to the schema data, for all
versions of the type. Defaults without these tables: a required field is always encoded; an optional
one is omitted when empty, and is a pointer only if it holds a struct. Of the types that exist in
alpha or beta versions only, the tables have a few; the defaults apply to the others.
"""

VALUE_STRUCTS = """
apiextensions.v1.CustomResourceDefinitionCondition lastTransitionTime
apiextensions.v1.CustomResourceDefinitionStatus acceptedNames
apps.v1.ControllerRevision data
apps.v1.DaemonSetCondition lastTransitionTime
apps.v1.DaemonSetSpec updateStrategy
apps.v1.DeploymentCondition lastTransitionTime lastUpdateTime
apps.v1.DeploymentSpec strategy
apps.v1.ReplicaSetCondition lastTransitionTime
apps.v1.ReplicaSetSpec template
apps.v1.StatefulSetCondition lastTransitionTime
apps.v1.StatefulSetSpec updateStrategy
authentication.v1.SelfSubjectReviewStatus userInfo
authentication.v1.TokenReviewStatus user
autoscaling.v2.HorizontalPodAutoscalerCondition lastTransitionTime
batch.v1.JobCondition lastProbeTime lastTransitionTime
certificates.v1.CertificateSigningRequestCondition lastTransitionTime lastUpdateTime
core.v1.Container resources
core.v1.ContainerStateRunning startedAt
core.v1.ContainerStateTerminated finishedAt startedAt
core.v1.ContainerStatus lastState state
core.v1.EphemeralContainer resources
core.v1.Event eventTime firstTimestamp lastTimestamp source
core.v1.EventSeries lastObservedTime
core.v1.NamespaceCondition lastTransitionTime
core.v1.NodeCondition lastHeartbeatTime lastTransitionTime
core.v1.NodeDaemonEndpoints kubeletEndpoint
core.v1.NodeStatus daemonEndpoints nodeInfo
core.v1.PersistentVolumeClaimCondition lastProbeTime lastTransitionTime
core.v1.PersistentVolumeClaimSpec resources
core.v1.PodCondition lastProbeTime lastTransitionTime
core.v1.PodTemplate template
core.v1.ReplicationControllerCondition lastTransitionTime
core.v1.ResourceFieldSelector divisor
core.v1.ServicePort targetPort
core.v1.ServiceStatus loadBalancer
discovery.v1.Endpoint conditions
events.v1.Event deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedSource regarding
flowcontrol.v1.FlowSchemaCondition lastTransitionTime
flowcontrol.v1.LimitedPriorityLevelConfiguration limitResponse
flowcontrol.v1.PriorityLevelConfigurationCondition lastTransitionTime
networking.v1.IngressServiceBackend port
networking.v1.IngressStatus loadBalancer
networking.v1.NetworkPolicySpec podSelector
resource.v1.AllocationResult devices
resource.v1.ResourceClaimSpec devices
storage.v1.VolumeError time
"""
"""Optional fields that hold a struct by value, which `omitempty` never omits."""

NO_OMITEMPTY = """
apiextensions.v1.CustomResourceDefinitionStatus conditions storedVersions
apps.v1.StatefulSetOrdinals start
apps.v1.StatefulSetSpec serviceName
apps.v1.StatefulSetStatus availableReplicas
autoscaling.v2.HorizontalPodAutoscalerStatus currentMetrics
batch.v1.PodFailurePolicyOnPodConditionsPattern status
core.v1.AzureFilePersistentVolumeSource secretNamespace
core.v1.ContainerImage names
core.v1.Event reportingComponent reportingInstance
core.v1.GRPCAction service
core.v1.NodeRuntimeHandler name
core.v1.ProjectedVolumeSource sources
core.v1.TypedLocalObjectReference apiGroup
core.v1.TypedObjectReference apiGroup
discovery.v1.EndpointSlice endpoints ports
flowcontrol.v1.FlowSchemaSpec matchingPrecedence
flowcontrol.v1.LimitedPriorityLevelConfiguration nominalConcurrencyShares
flowcontrol.v1.QueuingConfiguration handSize queueLengthLimit queues
flowcontrol.v1.ResourcePolicyRule namespaces
networking.v1.IngressClassParametersReference scope
policy.v1.PodDisruptionBudgetStatus currentHealthy desiredHealthy disruptionsAllowed expectedPods
rbac.v1.ClusterRole rules
rbac.v1.Role rules
rbac.v1.RoleRef apiGroup
resource.v1.AllocatedDeviceStatus conditions
resource.v1.CapacityRequestPolicy default
resource.v1.DeviceClaim requests
resource.v1beta1.DeviceRequest deviceClassName
scheduling.v1.PriorityClass value
scheduling.v1alpha2.PodGroupSpec podGroupTemplateRef
scheduling.v1alpha2.PodGroupTemplateReference workload
storage.v1.CSINodeDriver topologyKeys
"""
"""Optional fields that are encoded when empty, because their tag lacks `omitempty`."""

POINTERS = """
admissionregistration.v1.MatchResources matchPolicy
admissionregistration.v1.MutatingAdmissionPolicySpec failurePolicy
admissionregistration.v1.MutatingWebhook failurePolicy matchPolicy reinvocationPolicy sideEffects timeoutSeconds
admissionregistration.v1.NamedRuleWithOperations scope
admissionregistration.v1.ParamRef parameterNotFoundAction
admissionregistration.v1.RuleWithOperations scope
admissionregistration.v1.ServiceReference path port
admissionregistration.v1.ValidatingAdmissionPolicySpec failurePolicy
admissionregistration.v1.ValidatingWebhook failurePolicy matchPolicy sideEffects timeoutSeconds
admissionregistration.v1.Validation reason
admissionregistration.v1.WebhookClientConfig url
apiextensions.v1.CustomResourceDefinitionVersion deprecationWarning
apiextensions.v1.CustomResourceSubresourceScale labelSelectorPath
apiextensions.v1.CustomResourceSubresources status
apiextensions.v1.JSONSchemaProps $ref maxItems maxLength maxProperties maximum minItems minLength minProperties minimum multipleOf
apiextensions.v1.JSONSchemaProps x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-preserve-unknown-fields
apiextensions.v1.ServiceReference path port
apiextensions.v1.ValidationRule optionalOldSelf reason
apiextensions.v1.WebhookClientConfig url
apps.v1.DaemonSetSpec revisionHistoryLimit selector
apps.v1.DaemonSetStatus collisionCount
apps.v1.DeploymentSpec progressDeadlineSeconds replicas revisionHistoryLimit selector
apps.v1.DeploymentStatus collisionCount terminatingReplicas
apps.v1.ReplicaSetSpec replicas selector
apps.v1.ReplicaSetStatus terminatingReplicas
apps.v1.RollingUpdateStatefulSetStrategy partition
apps.v1.StatefulSetSpec replicas revisionHistoryLimit selector
apps.v1.StatefulSetStatus collisionCount
authentication.v1.TokenRequestSpec expirationSeconds
autoscaling.v1.HorizontalPodAutoscalerSpec minReplicas targetCPUUtilizationPercentage
autoscaling.v1.HorizontalPodAutoscalerStatus currentCPUUtilizationPercentage observedGeneration
autoscaling.v2.HPAScalingRules selectPolicy stabilizationWindowSeconds
autoscaling.v2.HorizontalPodAutoscalerSpec minReplicas
autoscaling.v2.HorizontalPodAutoscalerStatus observedGeneration
autoscaling.v2.MetricTarget averageUtilization
autoscaling.v2.MetricValueStatus averageUtilization
batch.v1.CronJobSpec failedJobsHistoryLimit startingDeadlineSeconds successfulJobsHistoryLimit suspend timeZone
batch.v1.JobSpec activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector maxFailedIndexes
batch.v1.JobSpec parallelism podReplacementPolicy suspend ttlSecondsAfterFinished
batch.v1.JobStatus failedIndexes ready terminating
batch.v1.PodFailurePolicyOnExitCodesRequirement containerName
batch.v1.SuccessPolicyRule succeededCount succeededIndexes
certificates.v1.CertificateSigningRequestSpec expirationSeconds
coordination.v1.LeaseSpec holderIdentity leaseDurationSeconds leaseTransitions preferredHolder strategy
core.v1.AppArmorProfile localhostProfile
core.v1.AzureDiskVolumeSource cachingMode fsType kind readOnly
core.v1.AzureFilePersistentVolumeSource secretNamespace
core.v1.CSIVolumeSource fsType readOnly
core.v1.ClientIPConfig timeoutSeconds
core.v1.ClusterTrustBundleProjection name optional signerName
core.v1.ConfigMap immutable
core.v1.ConfigMapEnvSource optional
core.v1.ConfigMapKeySelector optional
core.v1.ConfigMapProjection optional
core.v1.ConfigMapVolumeSource defaultMode optional
core.v1.Container restartPolicy
core.v1.ContainerStatus started stopSignal
core.v1.DownwardAPIVolumeFile mode
core.v1.DownwardAPIVolumeSource defaultMode
core.v1.EndpointAddress nodeName
core.v1.EndpointPort appProtocol
core.v1.EphemeralContainer restartPolicy
core.v1.FCVolumeSource lun
core.v1.FileKeySelector optional
core.v1.GRPCAction service
core.v1.GlusterfsPersistentVolumeSource endpointsNamespace
core.v1.HostPathVolumeSource type
core.v1.ISCSIPersistentVolumeSource initiatorName
core.v1.ISCSIVolumeSource initiatorName
core.v1.KeyToPath mode
core.v1.Lifecycle stopSignal
core.v1.LoadBalancerIngress ipMode
core.v1.LocalVolumeSource fsType
core.v1.NodeFeatures supplementalGroupsPolicy
core.v1.NodeRuntimeHandlerFeatures recursiveReadOnlyMounts userNamespaces
core.v1.NodeSelector nodeSelectorTerms
core.v1.NodeSwapStatus capacity
core.v1.PersistentVolumeClaimSpec storageClassName volumeAttributesClassName volumeMode
core.v1.PersistentVolumeClaimStatus currentVolumeAttributesClassName
core.v1.PersistentVolumeSpec volumeAttributesClassName volumeMode
core.v1.PodCertificateProjection maxExpirationSeconds
core.v1.PodDNSConfigOption value
core.v1.PodResourceClaim resourceClaimName resourceClaimTemplateName
core.v1.PodResourceClaimStatus resourceClaimName
core.v1.PodSchedulingGroup podGroupName
core.v1.PodSecurityContext fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser seLinuxChangePolicy supplementalGroupsPolicy
core.v1.PodSpec activeDeadlineSeconds automountServiceAccountToken enableServiceLinks hostUsers hostnameOverride preemptionPolicy priority
core.v1.PodSpec runtimeClassName setHostnameAsFQDN shareProcessNamespace terminationGracePeriodSeconds
core.v1.PortStatus error
core.v1.Probe terminationGracePeriodSeconds
core.v1.ProjectedVolumeSource defaultMode
core.v1.ReplicationControllerSpec replicas
core.v1.ResourceHealth message
core.v1.ScaleIOPersistentVolumeSource secretRef
core.v1.ScaleIOVolumeSource secretRef
core.v1.SeccompProfile localhostProfile
core.v1.Secret immutable
core.v1.SecretEnvSource optional
core.v1.SecretKeySelector optional
core.v1.SecretProjection optional
core.v1.SecretVolumeSource defaultMode optional
core.v1.SecurityContext allowPrivilegeEscalation privileged procMount readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser
core.v1.ServiceAccount automountServiceAccountToken
core.v1.ServiceAccountTokenProjection expirationSeconds
core.v1.ServicePort appProtocol
core.v1.ServiceSpec allocateLoadBalancerNodePorts internalTrafficPolicy ipFamilyPolicy loadBalancerClass trafficDistribution
core.v1.Toleration tolerationSeconds
core.v1.TopologySpreadConstraint minDomains nodeAffinityPolicy nodeTaintsPolicy
core.v1.TypedLocalObjectReference apiGroup
core.v1.TypedObjectReference apiGroup namespace
core.v1.VolumeMount mountPropagation recursiveReadOnly
core.v1.VolumeMountStatus recursiveReadOnly
core.v1.WindowsSecurityContextOptions gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName
discovery.v1.Endpoint hostname nodeName zone
discovery.v1.EndpointConditions ready serving terminating
discovery.v1.EndpointPort appProtocol name port protocol
flowcontrol.v1.ExemptPriorityLevelConfiguration lendablePercent nominalConcurrencyShares
flowcontrol.v1.LimitedPriorityLevelConfiguration borrowingLimitPercent lendablePercent nominalConcurrencyShares
networking.v1.HTTPIngressPath pathType
networking.v1.IngressClassParametersReference apiGroup namespace scope
networking.v1.IngressPortStatus error
networking.v1.IngressSpec ingressClassName
networking.v1.NetworkPolicyPort endPort protocol
policy.v1.PodDisruptionBudgetSpec unhealthyPodEvictionPolicy
resource.v1.AllocatedDeviceStatus shareID
resource.v1.Device allNodes allowMultipleAllocations bindsToNode nodeName
resource.v1.DeviceAttribute bool int string version
resource.v1.DeviceClaim requests
resource.v1.DeviceClassSpec extendedResourceName
resource.v1.DeviceConstraint distinctAttribute matchAttribute
resource.v1.DeviceRequestAllocationResult adminAccess shareID
resource.v1.DeviceToleration tolerationSeconds
resource.v1.ExactDeviceRequest adminAccess
resource.v1.NodeAllocatableResourceMapping capacityKey
resource.v1.ResourceSliceSpec allNodes devices nodeName perDeviceNodeSelection
resource.v1alpha3.DeviceTaintSelector device driver pool
resource.v1beta1.BasicDevice allNodes allowMultipleAllocations bindsToNode nodeName
resource.v1beta1.DeviceRequest adminAccess
scheduling.v1.PriorityClass preemptionPolicy
scheduling.v1alpha2.PodGroupResourceClaim resourceClaimName resourceClaimTemplateName
scheduling.v1alpha2.PodGroupResourceClaimStatus resourceClaimName
scheduling.v1alpha2.PodGroupSpec disruptionMode priority
storage.v1.CSIDriverSpec attachRequired fsGroupPolicy nodeAllocatableUpdatePeriodSeconds podInfoOnMount preventPodSchedulingIfMissing
storage.v1.CSIDriverSpec requiresRepublish seLinuxMount serviceAccountTokenInSecrets storageCapacity
storage.v1.StorageClass allowVolumeExpansion reclaimPolicy volumeBindingMode
storage.v1.TokenRequest expirationSeconds
storage.v1.VolumeAttachmentSource persistentVolumeName
storage.v1.VolumeError errorCode
storage.v1.VolumeNodeResources count
meta.v1.DeleteOptions gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents propagationPolicy
meta.v1.ListMeta remainingItemCount
meta.v1.ObjectMeta deletionGracePeriodSeconds
meta.v1.OwnerReference blockOwnerDeletion controller
meta.v1.Preconditions resourceVersion uid
"""
"""Fields that are pointers although they hold no struct, or although they are required.

Lists here are those of which the server distinguishes an empty one from an unset one.
"""

OMITTED = """
admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec policyName validationActions
authentication.v1.TokenReviewSpec token
core.v1.ContainerRestartRule action
core.v1.ContainerRestartRuleOnExitCodes operator
core.v1.ImageVolumeStatus imageRef
core.v1.PodCertificateProjection keyType signerName
networking.v1.IPAddressSpec parentRef
networking.v1.ParentReference name resource
resource.v1.CapacityRequestPolicyRange min
resource.v1.CounterSet counters
resource.v1.DeviceCounterConsumption counters
"""
"""Required fields that have `omitempty` nevertheless; those of struct types are pointers."""
